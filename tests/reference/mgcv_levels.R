# Probabilities and cut points of mgcv for ordered levels; recorded in mgcv_levels.json.
#
#   Rscript tests/reference/mgcv_levels.R tests/reference/mgcv_levels.csv tests/reference/mgcv_levels.json
#
# The table is written by `python tests/reference/test_mgcv_levels.py`. Of every curve the knots are
# those of Spline(12, degree=3, penalty_order=2, knots="uniform"). ocat fixes its first cut point at
# -1 and has an intercept; the cut points recorded are those for an intercept of 0.

library(mgcv)

files <- commandArgs(trailingOnly = TRUE)
table <- read.csv(files[1])
h <- 1 / 12
knots <- list(a = seq(-3 * h, 1 + 3 * h, length.out = 19), b = seq(-3 * h, 1 + 3 * h, length.out = 19))
at <- data.frame(a = seq(0, 1, 0.1), b = seq(1, 0, -0.1))

model <- gam(level ~ s(a, bs = "ps", k = 15, m = c(2, 2)) + s(b, bs = "ps", k = 15, m = c(2, 2)),
             data = table, weights = count, family = ocat(R = 5), method = "REML", knots = knots,
             control = gam.control(epsilon = 1e-10))
listed <- function(values) paste(trimws(format(as.numeric(values), digits = 10)), collapse = ", ")
found <- predict(model, at, type = "terms", se.fit = TRUE)
writeLines(sprintf(
  '{\n"cut_points": [%s],\n"probabilities": [%s],\n"effects": [%s],\n"errors": [%s],\n"edf": %.9g\n}',
  listed(model$family$getTheta(TRUE) - coef(model)[1]),
  listed(predict(model, at, type = "response")),
  listed(found$fit), listed(found$se.fit), sum(model$edf) - 1), files[2])
