/**
 * Does a step again until it finds fewer than `limit`, or the signal asks to end: what a whole day brings at one moment
 * would else take hours at a batch a tick, and one transaction of all of it would hold up the checks. Returns the sum.
 */
export async function inBatches(
  limit: number,
  step: (limit: number) => Promise<number>,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0
  for (;;) {
    const done = await step(limit)
    total += done
    if (done < limit || signal?.aborted) return total
  }
}
