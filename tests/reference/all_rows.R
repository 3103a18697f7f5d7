# The 100 simulated rows, 80 of which the R package TailoredBayes was fitted to (r_out_data.csv).
#
#     Rscript all_rows.R > all_rows.csv
#
# 17 significant digits give every double back to the bit.
RNGkind("Mersenne-Twister", "Inversion", "Rejection")
set.seed(1)
x1 <- rnorm(100)
z <- rnorm(100)
x2 <- .5 * x1 + sqrt(.75) * z
y <- as.numeric(runif(100) < plogis(.3 + x1 + .5 * x2))
cat("y,x1,x2\n")
cat(sprintf("%d,%.17g,%.17g\n", as.integer(y), x1, x2), sep = "")
