/** For calls to the upstream, in seconds: from an answer of a cache to the deadline of a list. */
export const REQUEST_BUCKETS_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
