/* The class of an output: the second one if it is positive. */
static inline int model_class_of(const float *outputs)
{
    return outputs[0] > 0 || (MODEL_CLASS_OF_ZERO && outputs[0] >= 0);
}
