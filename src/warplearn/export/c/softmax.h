/* The probabilities of the classes that outputs mean. */
static inline void model_probabilities(const float *outputs, float *probabilities)
{
    const float greatest = outputs[model_class_of(outputs)];
    float sum = 0;
    int k;
    for (k = 0; k < MODEL_CLASSES; ++k) {
        probabilities[k] = expf(MODEL_SHARPNESS * (outputs[k] - greatest));
        sum += probabilities[k];
    }
    for (k = 0; k < MODEL_CLASSES; ++k)
        probabilities[k] /= sum;
}
