# Means and parameters of mgcv for counts and amounts; recorded in mgcv_counts.json.
#
#   Rscript tests/reference/mgcv_counts.R tests/reference/mgcv_counts.csv tests/reference/mgcv_counts.json
#
# The table is written by `python tests/reference/test_mgcv_counts.py`. Of every curve the knots are
# those of Spline(12, degree=3, penalty_order=2, knots="uniform").

library(mgcv)

files <- commandArgs(trailingOnly = TRUE)
table <- read.csv(files[1])
h <- 1 / 12
knots <- list(a = seq(-3 * h, 1 + 3 * h, length.out = 19), b = seq(-3 * h, 1 + 3 * h, length.out = 19))
at <- data.frame(a = seq(0, 1, 0.1), b = seq(1, 0, -0.1))

fitted_by <- function(y, family, parameter) {
  data <- data.frame(y = table[[y]], a = table$a, b = table$b)
  model <- gam(y ~ s(a, bs = "ps", k = 15, m = c(2, 2)) + s(b, bs = "ps", k = 15, m = c(2, 2)),
               data = data, family = family, method = "REML", knots = knots,
               control = gam.control(epsilon = 1e-10))
  log_mean <- format(as.numeric(predict(model, at)), digits = 10)
  sprintf('{"parameter": %.9g, "scale": %.9g, "edf": %.9g, "log_mean": [%s]}',
          parameter(model), model$scale, sum(model$edf) - 1, paste(trimws(log_mean), collapse = ", "))
}

theta <- function(model) model$family$getTheta(TRUE)
lines <- c(
  sprintf('"nb": %s', fitted_by("count", nb(), theta)),
  sprintf('"nb(50)": %s', fitted_by("count", negbin(50), function(model) 50)),
  sprintf('"tw(1.5)": %s', fitted_by("amount", Tweedie(p = 1.5), function(model) 1.5))
)
writeLines(c("{", paste(lines, collapse = ",\n"), "}"), files[2])
