/* The entry points of a model and nothing else: what an application takes of flash. */
#include "net.h"

void use_init(net_stream *s) { net_init(s); }
int use_push(net_stream *s, const float *sample) { return net_push(s, sample); }
int use_decide(const net_stream *s) { return net_decide(s); }
