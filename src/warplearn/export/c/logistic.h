/* The probabilities of the two classes that an output means. */
static inline void model_probabilities(const float *outputs, float *probabilities)
{
    probabilities[0] = 1 / (1 + expf(MODEL_SHARPNESS * outputs[0]));
    probabilities[1] = 1 / (1 + expf(-MODEL_SHARPNESS * outputs[0]));
}
