"""
Where in a recording does it happen? Detection
==============================================

Real recordings are long, and nobody has cut them into series. A detector learns from a recording
with labelled events. In another recording it finds where events begin and end, and of which class
they are.
"""

import matplotlib.pyplot as plt

from warplearn import ElasticDetector, ElasticFeatureClassifier, datasets, event_metrics
from warplearn.datasets import make_recording

train, test = datasets.load("GunPoint", "train"), datasets.load("GunPoint", "test")
learned = make_recording(train.X, train.y, random_state=0)  # series with background between them
classifier = ElasticFeatureClassifier(400, random_state=0)  # more filters than by default: slower
detector = ElasticDetector(classifier, random_state=0).fit(learned.signal, learned.events)

# %%
# The second recording is made of other series, so the detector has seen none of it.

recording = make_recording(test.X, test.y, n_events=12, random_state=1)
found = detector.detect(recording.signal)
metrics = event_metrics(found, recording.events)
wrong = metrics.n_detected - metrics.n_right  # false alarms, and events of the wrong class
print(f"{metrics.n_right} of {metrics.n_labelled} events found; {wrong} others reported")

# %%
# Labelled events are drawn above the signal, found ones below it.

names, colours = {1: "gun", 2: "point"}, {1: "C1", 2: "C2"}
figure, axis = plt.subplots(figsize=(11, 3.4), layout="constrained")
axis.plot(recording.signal, color="0.4", linewidth=0.8)
low, high = recording.signal.min(), recording.signal.max()
for events, level in ((recording.events, high + 0.6), (found, low - 0.6)):
    for event in events:
        kind = int(event["class"])
        axis.plot((event["start"], event["end"]), (level, level), color=colours[kind], linewidth=7)
for kind, name in names.items():
    axis.plot([], [], color=colours[kind], linewidth=7, label=name)
axis.set(xlabel="sample", yticks=(low - 0.6, high + 0.6), yticklabels=("found", "labelled"))
axis.legend(loc="upper right", ncols=2)
axis.set_ylim(low - 1.2, high + 2)
plt.show()
