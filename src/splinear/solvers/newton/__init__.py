"""Newton's method: a point, its Hessian, steps, and paths of C."""
