"""Detection: events in long recordings and endless streams, and early decisions."""

from warplearn.detection.detector import ElasticDetector
from warplearn.detection.early import EarlyDecisions, EarlyStream, ElasticEarlyClassifier
from warplearn.detection.gaps import GapWarning
from warplearn.detection.metrics import EventMetrics, event_metrics
from warplearn.detection.online import DetectionStream

__all__ = [
    "DetectionStream",
    "EarlyDecisions",
    "EarlyStream",
    "ElasticDetector",
    "ElasticEarlyClassifier",
    "EventMetrics",
    "GapWarning",
    "event_metrics",
]
