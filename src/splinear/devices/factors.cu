// The inverse L^{-1} of small matrices H = L L', one per block of ROWS threads, in shared memory.
//
// Defined by the caller:
//   ROWS   of the matrices that are given room, and threads: m <= ROWS

// out (n, m, m) = L^{-1} of H (n, m, m); NaN where a matrix has no L, from the first pivot on that is
// not positive. What is above the diagonal of H is not read.
extern "C" __global__ void __launch_bounds__(ROWS)
    inverse_factor(const double* __restrict__ H, double* __restrict__ out, int m) {
    __shared__ double L[ROWS][ROWS + 1];
    const int t = threadIdx.x;
    const double* from = H + (long long)blockIdx.x * m * m;
    double* to = out + (long long)blockIdx.x * m * m;
    for (int i = 0; i < m; ++i)
        if (t < m) L[i][t] = from[i * m + t];
    __syncthreads();
    // A thread is a row of L; column by column, to the left of which all is done.
    for (int k = 0; k < m; ++k) {
        double sum = t < m && t >= k ? L[t][k] : 0.0;
        if (t < m && t >= k)
            for (int p = 0; p < k; ++p) sum -= L[t][p] * L[k][p];
        __syncthreads();
        if (t == k) L[k][k] = sum > 0.0 ? sqrt(sum) : nan("");
        __syncthreads();
        if (t < m && t > k) L[t][k] = sum / L[k][k];
        __syncthreads();
    }
    // A thread is a column of the inverse, which it keeps above the diagonal: rows of L^{-T}.
    if (t < m) {
        const double own = 1.0 / L[t][t];
        for (int i = 0; i < t; ++i) to[i * m + t] = 0.0;
        to[t * m + t] = own;
        for (int i = t + 1; i < m; ++i) {
            double sum = L[i][t] * own;
            for (int p = t + 1; p < i; ++p) sum += L[i][p] * L[t][p];
            const double x = -sum / L[i][i];
            L[t][i] = x;  // only this thread reads it
            to[i * m + t] = x;
        }
    }
}
