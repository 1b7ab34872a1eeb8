"""How means are found: the objective, the methods that minimize it, and where they start.

A mean minimizes the variation, the weighted sum of the summed costs of aligning series with it,

    F(Y) = sum over i of w_i * min over paths phi of the costs of x_i and Y along phi.

With the squared cost this is the weighted sum of squared elastic distances (section 3.5 and
Algorithm 2 of the paper).  There are two parameter spaces, which differ in the shape of Y and in
nothing else.  In the space "matrix", the paper's, Y is any n x m matrix, n the length of the
longest series.  In the space "series", Y stands for a matrix whose rows are all the same, and the
distance is that of dynamic time warping.

One pass over the series (`Objective.values_and_forces`) gives the variation, the *force*, which is
minus half its generalized gradient, and the *visits*, the weight of the paths through each cell.  A
method turns these into a step, and one loop (`minimize`) repeats the steps.  All this is done for
several means at once, as those of clusters: they are stacked, and a pass serves all of them.

===============  ===================================================================
`Averaging`      `Y + force / visits`; squared cost only
`Descent`        `Y + s force / visits`, s chosen so that the variation falls
`Gradient`       `Y + eta force`, by default eta = 1/N: the paper's special case
`Stochastic`     `Y + eta_t force`, of one series at a time
===============  ===================================================================

With the squared cost the force is `sum of w_i (X_i - Y)` over the series X_i embedded in Y, and
`force / visits` leads to the mean of the elements that are aligned with each cell.  `Averaging` is
therefore DBA: it minimizes, for fixed paths, a function that lies above the variation and touches
it at Y, so the variation never increases.  In the matrix space no path passes a cell twice; with
eta = 1/N every cell then moves towards that same minimum and at most up to it, so the variation
never increases either.  In the space of series a path may pass a cell many times and the same eta
can overshoot.  `minimize` keeps the best Y it has seen.
"""
