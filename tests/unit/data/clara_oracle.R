# What R's package cluster says about a few data sets: the expected values of tests/unit/test_predictor_clara.c.
#
#   Rscript clara_oracle.R > clara_oracle.json        needs r-base-core and r-cran-cluster; the tests need neither
#
# Medoids and samples count from 0. Medoids ascend, and cluster c is the one around the c-th of them.
suppressMessages(library(cluster))
RNGversion("4.0.0")

whole <- function(x) paste0("[", paste(format(x, trim = TRUE, scientific = FALSE), collapse = ","), "]")
exact <- function(x) paste0("[", paste(sprintf("%.17g", x), collapse = ","), "]")
data_sets <- list()
cases <- character()

# Remember the data set under the first name that it comes with.
data_name <- function(name, x) {
  for (known in names(data_sets)) if (identical(data_sets[[known]], x)) return(known)
  data_sets[[name]] <<- x
  name
}

emit <- function(name, x, k, metric, medoids, clustering, objective, silhouette, sample = NULL) {
  clusters <- match(clustering, order(medoids)) - 1
  text <- sprintf('{"name": "%s", "data": "%s", "k": %d, "metric": "%s",\n "objective": %.17g, "silhouette": %.17g,\n',
                  name, data_name(name, x), k, metric, objective, silhouette)
  if (!is.null(sample)) text <- paste0(text, ' "sample": ', whole(sort(sample) - 1), ",\n")
  cases <<- c(cases, paste0(text, ' "medoids": ', whole(sort(medoids) - 1), ',\n "clusters": ', whole(clusters), "}"))
}

emit_pam <- function(name, x, k, metric) {
  x <- unname(as.matrix(x))
  fit <- pam(x, k, metric = metric, stand = FALSE, keep.diss = FALSE, keep.data = FALSE)
  emit(name, x, k, metric, fit$id.med, unname(fit$clustering), fit$objective[["swap"]],
       if (k > 1) fit$silinfo$avg.width else 0)
}

# clara's own best sample goes along, so that ours can be fed with it.
emit_clara <- function(name, x, k, metric, sampsize = min(nrow(x), 40 + 2 * k), samples = 5) {
  x <- unname(as.matrix(x))
  fit <- clara(x, k, metric = metric, stand = FALSE, samples = samples, sampsize = sampsize, pamLike = TRUE, rngR = FALSE)
  emit(name, x, k, metric, fit$i.med, fit$clustering, fit$objective, if (k > 1) fit$silinfo$avg.width else 0,
       sample = fit$sample)
}

for (k in 2:6) emit_pam(paste0("ruspini ", k), ruspini, k, "euclidean")
emit_pam("ruspini manhattan 4", ruspini, 4, "manhattan")
emit_pam("iris 3", iris[, 1:4], 3, "euclidean")
emit_pam("iris manhattan 3", iris[, 1:4], 3, "manhattan")
emit_pam("iris manhattan 5", iris[, 1:4], 5, "manhattan")

set.seed(20261121)
times <- log(rep(c(4e3, 6e4, 9e5, 46e6), c(20, 20, 15, 5)) * (1 + 0.05 * rnorm(60)))
for (k in c(1, 2, 3, 4, 5, 8)) emit_pam(paste0("times ", k), times, k, "manhattan")

grid <- expand.grid(0:5, 0:5)                     # many equal distances: how ties are broken
for (k in 2:5) emit_pam(paste0("grid ", k), grid, k, "manhattan")
line <- 0:11
for (k in 2:4) emit_pam(paste0("line ", k), line, k, "euclidean")
emit_pam("doubles 2", c(1, 1, 1, 1, 5, 5, 5, 9), 2, "euclidean")
emit_pam("two points 1", c(3, 4), 1, "euclidean")

mixture <- round(rbind(matrix(rnorm(400, 0, 1), ncol = 2), matrix(rnorm(600, 6, 1), ncol = 2),
                       matrix(rnorm(200, c(12, 0), 1), ncol = 2, byrow = TRUE)), 3)
for (k in 1:5) emit_clara(paste0("mixture ", k), mixture, k, "euclidean")
emit_clara("mixture manhattan 4", mixture, 4, "manhattan")
emit_clara("mixture sample of 100", mixture, 3, "euclidean", sampsize = 100, samples = 20)
emit_clara("xclara 3", xclara, 3, "euclidean")
emit_clara("xclara 8", xclara[1:700, ], 8, "manhattan")

sets <- sapply(names(data_sets), function(name) sprintf('"%s": {"dimensions": %d, "points": %s}', name,
                                                        ncol(data_sets[[name]]), exact(t(data_sets[[name]]))))
cat('{"data": {\n', paste(sets, collapse = ",\n"), '\n},\n"cases": [\n', paste(cases, collapse = ",\n"), "\n]}\n", sep = "")
