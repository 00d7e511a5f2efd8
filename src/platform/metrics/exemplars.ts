import type { Histogram } from 'prom-client'
import { currentTrace } from '../base/tracing.ts'

export const OPENMETRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

/** The exemplars of the buckets of all histograms of a registry, by their lines without the value. */
export type Exemplars = Map<string, string>

/**
 * Makes a histogram keep the trace of the last observation in each bucket that was made within a span. prom-client's own
 * exemplars need a registry that writes OpenMetrics only.
 */
export function keepExemplars<L extends string>(
  histogram: Histogram<L>,
  { name, buckets, exemplars }: { name: string; buckets: readonly number[]; exemplars: Exemplars },
): Histogram<L> {
  const observe = histogram.observe.bind(histogram) as (...args: unknown[]) => void
  histogram.observe = (...args: unknown[]) => {
    observe(...args)
    const trace = currentTrace()
    if (trace === undefined) return
    const value = Number(args.at(-1))
    const labels = args.length > 1 ? (args[0] as Record<string, string>) : {}
    const le = buckets.find((bound) => value <= bound) ?? '+Inf'
    const pairs = Object.entries({ ...labels, le }).map(([label, text]) => `${label}="${text}"`)
    const seconds = (Date.now() / 1000).toFixed(3)
    exemplars.set(
      keyOf(`${name}_bucket`, pairs),
      `# {trace_id="${trace.traceId}",span_id="${trace.spanId}"} ${value} ${seconds}`,
    )
  }
  return histogram
}

function keyOf(name: string, pairs: readonly string[]): string {
  return `${name}{${pairs.toSorted().join()}}`
}

const BUCKET = /^(\w+_bucket)\{(.*)\} /

/**
 * Writes a text of Prometheus as OpenMetrics, with exemplars. There the family of a counter is named without `_total`.
 * The labels of our histograms have no commas in their values.
 */
export function toOpenMetrics(text: string, exemplars: Exemplars): string {
  const counters = new Set(
    [...text.matchAll(/^# TYPE (\w+)_total counter$/gm)].map(([, name]) => name),
  )
  const lines = text.split('\n').flatMap((line) => {
    if (line === '') return []
    const [, kind, name, rest] = /^# (HELP|TYPE) (\w+)_total (.*)$/.exec(line) ?? []
    if (name !== undefined && counters.has(name)) return [`# ${kind} ${name} ${rest}`]
    const [, bucket = '', labels = ''] = BUCKET.exec(line) ?? []
    const exemplar = bucket === '' ? undefined : exemplars.get(keyOf(bucket, labels.split(',')))
    return [exemplar === undefined ? line : `${line} ${exemplar}`]
  })
  return `${lines.join('\n')}\n# EOF\n`
}
