import type { Metrics } from '../metrics/metrics.ts'
import type { CsvCounts } from './lists/read-routes-csv.ts'
import type { AnswerAnomaly } from './observation.ts'
import type { RouteListBody, RouteListCounts } from './route-list.ts'
import { UpstreamContractError } from './upstream-errors.ts'

const LIST_ANOMALIES = [
  'broken_list',
  'unknown_fields',
  'numeric_ids',
  'blank_texts',
  'cleaned_texts',
  'self_routes',
] as const

const VERIFY_ANOMALIES = [
  'list_for_object',
  'doubled_names',
  'unknown_fields',
  'text_ids',
  'blank_texts',
  'flight_id_unlike_key',
  'extra_ids',
  'flight_though_unavailable',
  'price_unreadable',
  'total_unlike_sum',
  'categories_unlike_request',
  'duration_unlike_times',
] as const satisfies readonly AnswerAnomaly[]

/**
 * What each endpoint may do beside its contract without stopping us: the closed list behind the labels of
 * `farewatch_upstream_contract_oddities_total`. docs/reference/upstream.md says what each means.
 */
export const ANOMALIES = {
  routes: LIST_ANOMALIES,
  'with-availability': LIST_ANOMALIES,
  csv: [...LIST_ANOMALIES, 'unrecognised_columns', 'ragged_rows'],
  verify: VERIFY_ANOMALIES,
} as const

export type AnomalyEndpoint = keyof typeof ANOMALIES
export type Anomaly = (typeof ANOMALIES)[AnomalyEndpoint][number]
/** How often each was met in one answer; those that are missing were not. */
export type AnomalyCounts = Partial<Record<Anomaly, number>>
export type ObserveAnomalies = (endpoint: AnomalyEndpoint, counts: AnomalyCounts) => void

/** Counts anomalies in the metric; every label begins at 0. */
export function anomalyCounter({
  contractAnomalies,
}: Pick<Metrics, 'contractAnomalies'>): ObserveAnomalies {
  for (const [endpoint, anomalies] of Object.entries(ANOMALIES)) {
    for (const oddity of anomalies) contractAnomalies.inc({ endpoint, oddity }, 0)
  }
  return (endpoint, counts) => {
    for (const [oddity, count] of Object.entries(counts)) {
      if (count > 0) contractAnomalies.inc({ endpoint, oddity }, count)
    }
  }
}

/** Of a list that was read to its end, or as far as it could be: then `failure` is what ended it. */
export function anomaliesOfList(
  counts: RouteListCounts | CsvCounts,
  failure?: unknown,
): AnomalyCounts {
  const ofCsv =
    'raggedRows' in counts
      ? { ragged_rows: counts.raggedRows, unrecognised_columns: counts.unrecognisedColumns }
      : {}
  return {
    ...ofCsv,
    broken_list: failure instanceof UpstreamContractError ? 1 : 0,
    unknown_fields: counts.unknownFields,
    numeric_ids: counts.numericIds,
    blank_texts: counts.blankTexts,
    cleaned_texts: counts.cleanedTexts,
    self_routes: counts.selfRoutes,
  }
}

/** Has a list's anomalies observed when it is read; once, for a transaction that is tried again reads it again. */
export function observedList<Body extends RouteListBody | null>(
  body: Body,
  endpoint: AnomalyEndpoint,
  observe: ObserveAnomalies | undefined,
): Body {
  if (body === null || observe === undefined) return body
  let told = false
  return {
    ...body,
    onRead(counts: RouteListCounts, failure?: unknown) {
      if (!told) observe(endpoint, anomaliesOfList(counts, failure))
      told = true
    },
  }
}

/** Of a verify answer: one for each that it has, however often. */
export function anomaliesOfAnswer(anomalies: readonly AnswerAnomaly[]): AnomalyCounts {
  return Object.fromEntries(anomalies.map((fault) => [fault, 1]))
}
