import { Counter, Gauge, Histogram, Registry } from 'prom-client'

/**
 * The labels of a metric with the values that are known beforehand. Every combination of them begins at 0: otherwise a
 * series would appear with its first event, and `rate` would not show that event. The values of an empty list are only
 * known at runtime.
 */
type Labels<L extends string> = Readonly<Record<L, readonly string[]>>

export type Declare = ReturnType<typeof createDeclare>

/** Creates a registry and the functions that declare metrics in it. */
export function createDeclare() {
  const registry = new Registry()
  const registers = [registry]
  return {
    registry,
    counter: <L extends string = never>(name: string, help: string, labels?: Labels<L>) => {
      const counter = new Counter<L>({ name, help, labelNames: namesOf(labels), registers })
      for (const values of combinations(labels)) counter.inc(values, 0)
      return counter
    },
    gauge: <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Gauge<L>({ name, help, labelNames, registers }),
    histogram: <L extends string = never>(
      name: string,
      help: string,
      { buckets, labels }: { buckets: number[]; labels?: Labels<L> },
    ) => {
      const histogram = new Histogram<L>({
        name,
        help,
        labelNames: namesOf(labels),
        buckets,
        registers,
      })
      for (const values of combinations(labels)) histogram.zero(values)
      return histogram
    },
  }
}

function namesOf<L extends string>(labels: Labels<L> | undefined): L[] {
  return Object.keys(labels ?? {}) as L[]
}

function combinations<L extends string>(labels: Labels<L> | undefined): Record<L, string>[] {
  return namesOf(labels).reduce<Record<L, string>[]>(
    (all, name) =>
      all.flatMap((values) =>
        (labels?.[name] ?? []).map((value) => ({ ...values, [name]: value })),
      ),
    [{} as Record<L, string>],
  )
}
