import { stringify } from 'yaml'
import { type Check, STATUS_CHECKS } from '../../src/health/checks.ts'
import { DOCTOR_CHECKS } from '../../src/health/doctor-checks.ts'
import { LIMITS } from '../../src/health/limits.ts'

/** The alert of all that can wait until the morning; the label `code` says what it is. */
export const DEGRADED = 'FarewatchDegraded'
const BY = 'by (job, environment)'

interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly for?: string
  readonly keep_firing_for?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** Something that only Prometheus sees: what the status cannot know, or not over a time. */
interface Seen {
  /** Its code, and its section in the runbooks. */
  readonly code: string
  /** Unset: it is part of the alert of all that can wait. */
  readonly alert?: string
  readonly after: string
  readonly expr: string
  readonly summary: string
  /** What happens if no operator acts. */
  readonly otherwise: string
  /** How long it goes on after its cause. Unset: 2m, which covers a restart of all processes. */
  readonly keeps?: '0m' | '2m' | '5m'
}

const RECORDS: readonly Rule[] = [
  // The environments that had a target within a day. A container that ended is no longer a target, so its series end.
  {
    record: 'farewatch:expected:info',
    expr: `group ${BY} (last_over_time(up{job="farewatch"}[1d])) or on (job) absent(up{job="farewatch"})`,
  },
  {
    record: 'farewatch:processes:count',
    expr: 'count by (job, environment, role) (farewatch_build_info)',
  },
  {
    record: 'farewatch:beliefs:count',
    expr: `sum ${BY} (max by (job, environment, state) (farewatch_tracked_fares{state!="unknown"}))`,
  },
  {
    record: 'farewatch:beliefs_stale:count',
    expr: `sum ${BY} (max by (job, environment, state) (farewatch_beliefs_stale{state!="unknown"}))`,
  },
  {
    record: 'farewatch:beliefs_stale:ratio',
    expr: 'farewatch:beliefs_stale:count / (farewatch:beliefs:count > 0)',
  },
  {
    record: 'farewatch:upstream_budget:ratio',
    expr: `max ${BY} (farewatch_upstream_budget_ratio)`,
  },
  // Excluded are refusals (auth, rate_limited), which are alerts of their own, and outcomes that show a working upstream:
  // an unchanged list, and a flight id that the upstream does not know.
  {
    record: 'farewatch:upstream_failures:rate5m',
    expr: 'sum by (job, environment, endpoint) (rate(farewatch_upstream_requests_total{outcome!~"ok|upstream.(not_modified|http_4xx|id_missing)|upstream.(auth|rate_limited)|aborted"}[5m]))',
  },
  {
    record: 'farewatch:db_disk_free:ratio',
    expr: `max ${BY} (farewatch_db_disk_free_bytes) / max ${BY} (farewatch_db_disk_size_bytes)`,
  },
]

/** Requests that wait on purpose, and those that last as long as the client reads or sends: complete lists and imports. */
const LASTING =
  'listWatchChanges|verifyFares|listRoutes|listAvailableRoutes|exportRoutesCsv|readWatchState|saveWatches'

const SEEN: readonly Seen[] = [
  {
    code: 'api_down',
    alert: 'ApiDown',
    after: '3m',
    keeps: '0m',
    expr: 'farewatch:expected:info unless group by (job, environment) (farewatch_build_info{role=~"api|up"})',
    summary: 'No process serves the API',
    otherwise:
      'resellers get no answer. The link may not open: docs/reference/runbooks.md of a checkout is the same page.',
  },
  // A fare about which the upstream gave no answer is a 503 verify.unknown. UpstreamErrors covers that. Requests that were
  // refused (4xx) neither succeed nor fail here: a client that repeats them must not hide failures.
  {
    code: 'api_errors',
    alert: 'ApiErrors',
    after: '5m',
    expr: `sum ${BY} (rate(farewatch_api_requests_total{status=~"5..", code!="verify.unknown"}[5m]))
  / sum ${BY} (rate(farewatch_api_requests_total{status!~"4..", code!="verify.unknown"}[5m]))
  > 0.05
and sum ${BY} (increase(farewatch_api_requests_total{status=~"5..", code!="verify.unknown"}[5m])) >= 5`,
    summary: '{{ $value | humanizePercentage }} of the API requests are answered with a 5xx status',
    otherwise: 'resellers get errors. Their clients may try again.',
  },
  // The circuit breaker opens half a minute after calls begin to fail, and closes with the first usable answer. It can stay
  // open when nothing is called any more. The second part finds failures that do not open it. Requests that are minutes apart
  // give no rate: list_failing covers those, and BeliefsStale an upstream that knows no flight id at all.
  {
    code: 'calls_failing',
    alert: 'UpstreamErrors',
    after: '4m',
    keeps: '5m',
    expr: `max by (job, environment, endpoint) (farewatch_upstream_breaker_open{breaker="errors", endpoint="verify"}) > 0
    and farewatch:upstream_failures:rate5m > 0
  or farewatch:upstream_failures:rate5m
    / sum by (job, environment, endpoint) (rate(farewatch_upstream_requests_total[5m]))
    > 0.5`,
    summary: 'Most requests to {{ $labels.endpoint }} fail',
    otherwise:
      'beliefs stay as they are, grow old, and are shown as unknown after ten minutes or more.',
  },
  // If all processes have the refused credential, the circuit breaker opens and stays open. If only one process has an old
  // credential, the others close the breaker again and again; the second part finds that process by its own refusals while
  // others are accepted.
  {
    code: 'credential_refused',
    alert: 'UpstreamAuthFailing',
    after: '5m',
    expr: `max by (job, environment, endpoint) (farewatch_upstream_breaker_open{breaker="auth"}) > 0
  or sum by (job, environment, instance, endpoint) (rate(farewatch_upstream_requests_total{outcome="upstream.auth"}[2m]))
     > 0.5 * sum by (job, environment, instance, endpoint) (rate(farewatch_upstream_requests_total[2m]))
     and on (job, environment, endpoint)
       sum by (job, environment, endpoint) (rate(farewatch_upstream_requests_total{outcome="ok"}[2m])) > 0`,
    summary:
      'The upstream refuses our credential ({{ $labels.endpoint }}{{ with $labels.instance }}, only from {{ . }}{{ end }})',
    otherwise: 'only probes are sent, beliefs grow old, and nothing is detected.',
  },
  {
    code: 'database_trouble',
    alert: 'DatabaseTrouble',
    after: '3m',
    keeps: '0m',
    expr: `farewatch_db_up == 0
  or min_over_time(farewatch_db_pool_waiting[2m]) > 0
  or min_over_time(farewatch_db_ping_seconds[2m]) > 1`,
    summary: 'PostgreSQL is down or slow for {{ $labels.instance }}',
    otherwise: 'nothing is recorded, and the API answers 503.',
  },
  // Without these gauges, or with old ones, the alerts that are warnings of the status are blind.
  {
    code: 'gauges_missing',
    alert: 'NoSystemGauges',
    after: '5m',
    keeps: '0m',
    expr: `farewatch:expected:info unless max ${BY} (farewatch_routes_live)
  or time() - max ${BY} (farewatch_system_gauges_read_timestamp_seconds) > 120`,
    summary: 'No process exports present gauges of the whole system',
    otherwise: 'other alerts cannot fire: they are blind, or show what was true before.',
  },
  // Between two pauses one request goes out and starts the next pause, so the rule takes an average.
  {
    code: 'upstream_paused',
    after: '3m',
    expr: 'avg_over_time(farewatch:upstream_budget:ratio[10m]) < 0.1',
    summary: 'The upstream has kept us paused for ten minutes',
    otherwise: 'due work waits and is not lost; beliefs grow old.',
  },
  // One 429 lowers the budget by three tenths for half a minute, so this takes many of them. A pause after a 503 does not count.
  {
    code: 'budget_limited',
    after: '10m',
    expr: `avg_over_time(farewatch:upstream_budget:ratio[30m]) < 0.8
  and sum ${BY} (increase(farewatch_upstream_rate_limited_total[30m])) > 0`,
    summary:
      'Because of 429 responses only {{ $value | humanizePercentage }} of the budget was usable in the last half hour',
    otherwise: 'every fare is checked later than planned.',
  },
  {
    code: 'api_slow',
    after: '10m',
    expr: `histogram_quantile(0.95, sum by (job, environment, le) (rate(farewatch_api_request_duration_seconds_bucket{operation!~"${LASTING}"}[5m])))
  > 1
and sum ${BY} (increase(farewatch_api_request_duration_seconds_count{operation!~"${LASTING}"}[5m])) >= 20`,
    summary: 'One API request in twenty takes longer than {{ $value | humanizeDuration }}',
    otherwise: 'resellers wait. Usually the database is slow, or one client sends too much.',
  },
  // ApiErrors does not see streams: their status is 200 before they fail. A client that cannot be served connects again after
  // four seconds at most, over fifty times in five minutes. A restored database ends each stream once, which is no failure.
  {
    code: 'streams_failing',
    after: '10m',
    expr: `sum ${BY} (increase(farewatch_stream_ended_total{reason="failed"}[5m])) > 5`,
    summary: '{{ printf "%.0f" $value }} event streams failed in five minutes',
    otherwise: 'their clients connect again and make no progress. Polling and webhooks go on.',
  },
  // A process that the service discovery no longer lists has no `up`, so processes are also counted by role. The median of six
  // hours ignores a deploy, and follows a wanted change within three hours.
  {
    code: 'process_silent',
    after: '5m',
    expr: `up{job="farewatch"} == 0
  or farewatch:processes:count < quantile_over_time(0.5, farewatch:processes:count[6h])
    unless on (job, environment) up{job="farewatch"} == 0`,
    summary:
      '{{ with $labels.instance }}{{ . }} does not answer{{ else }}Only {{ $value }} {{ $labels.role }} processes are left{{ end }}',
    otherwise: 'the others do its work, as long as one of its role is left.',
  },
  // The next check does the work of a failed one, so this takes most of the attempts.
  {
    code: 'checks_failing',
    after: '15m',
    expr: `sum ${BY} (increase(farewatch_queue_jobs_total{outcome="failed", queue="verify"}[15m]))
  > 0.5 * sum ${BY} (increase(farewatch_queue_jobs_total{queue="verify"}[15m]))`,
    summary: 'Most jobs of checks fail',
    otherwise: 'fares are checked late, and their beliefs grow old.',
  },
  {
    code: 'tick_failing',
    after: '5m',
    expr: `time() - max by (job, environment, tick) (farewatch_tick_last_success_timestamp_seconds)
  > 300 + 2.5 * max by (job, environment, tick) (farewatch_tick_interval_seconds)`,
    summary: 'The tick {{ $labels.tick }} has not succeeded for {{ $value | humanizeDuration }}',
    otherwise: 'its work is not done. The other ticks succeed.',
  },
  {
    code: 'clock_set_back',
    after: '3m',
    expr: `max ${BY} (increase(farewatch_database_clock_set_back_total[1h])) > 0`,
    summary: 'The clock of PostgreSQL was set back',
    otherwise: 'fares are shown as unknown until their next check.',
  },
  {
    code: 'redis_memory',
    after: '5m',
    expr: `max ${BY} (farewatch_redis_memory_used_bytes)
  / (max ${BY} (farewatch_redis_memory_max_bytes) > 0)
  > ${LIMITS.redisMemoryShare}`,
    summary: 'Redis uses {{ $value | humanizePercentage }} of its memory',
    otherwise: 'Redis refuses new jobs when it is full, and the work stops. None is lost.',
  },
]

/** Where the runbook of a code is. */
function runbookUrl(section: string): string {
  return `{{ or $externalLabels.runbooks "http://127.0.0.1:8080/docs/runbooks" }}#${section}`
}

function seenRule({ code, alert, after, expr, summary, otherwise, keeps = '2m' }: Seen): Rule {
  return {
    alert: alert ?? DEGRADED,
    expr,
    for: after,
    ...(keeps === '0m' ? {} : { keep_firing_for: keeps }),
    labels: { severity: alert === undefined ? 'warning' : 'critical', code },
    annotations: {
      summary,
      description: `Without action ${otherwise}`,
      runbook_url: runbookUrl(sectionOf(code)),
    },
  }
}

/** What an operator must act on, now or three minutes ago: a restart of all processes, or a retry, does not end it. */
function warningsExpr(matcher: string): string {
  return `max by (job, environment, code) (max_over_time(farewatch_warnings{level="bad", ${matcher}}[3m])) > 0`
}

type Named = Check<never> & { readonly alert: NonNullable<Check<never>['alert']> }

/** What the status finds too is described as there. */
const ALL_CHECKS: Readonly<Record<string, Check<never>>> = { ...DOCTOR_CHECKS, ...STATUS_CHECKS }
const checks = Object.entries(STATUS_CHECKS as Readonly<Record<string, Check<never>>>)
const named = checks.filter((entry): entry is [string, Named] => entry[1].alert !== undefined)

/** The alerts that wake a person, each of the codes that have its name. */
function criticalRules(): Rule[] {
  const byName = Map.groupBy(named, ([, { alert }]) => alert.name)
  return [...byName].map(([name, entries]) => {
    const [[first, { alert }]] = entries as [[string, Named]]
    return {
      alert: name,
      expr: warningsExpr(`code=~"${entries.map(([code]) => code).join('|')}"`),
      for: alert.after,
      labels: { severity: 'critical' },
      annotations: {
        summary: 'farewatch status shows {{ $labels.code }}',
        description: `Without action ${alert.otherwise}`,
        runbook_url: runbookUrl(sectionOf(first)),
      },
    }
  })
}

/** All other warnings on which an operator must act. */
function degradedRule(): Rule {
  const own = [...named.map(([code]) => code), ...SEEN.map(({ code }) => code)]
  return {
    alert: DEGRADED,
    expr: warningsExpr(`code!~"${own.join('|')}"`),
    for: '15m',
    labels: { severity: 'warning' },
    annotations: {
      summary: 'farewatch status shows {{ $labels.code }}',
      description: 'Without action it goes on. The runbook describes what that means.',
      runbook_url: runbookUrl('{{ $labels.code }}'),
    },
  }
}

/** What the runbooks say of a code. */
export interface CodeHelp {
  readonly code: string
  readonly section: string
  /** Unset: only Prometheus sees it. */
  readonly check?: Pick<Check<never>, 'command' | 'todo'>
  readonly alert?: { readonly name: string; readonly after: string; readonly otherwise: string }
}

/** Every code: of the status, of doctor alone, and of Prometheus alone. */
export function codeHelps(): CodeHelp[] {
  const seen = new Map(SEEN.map((one) => [one.code, { ...one, name: one.alert ?? DEGRADED }]))
  const codes = new Set([...Object.keys(ALL_CHECKS), ...seen.keys()])
  return [...codes].map((code) => {
    const check = ALL_CHECKS[code]
    const alert = check?.alert ?? seen.get(code)
    return {
      code,
      section: sectionOf(code),
      ...(check === undefined ? {} : { check }),
      ...(alert === undefined ? {} : { alert }),
    }
  })
}

/** The section of the runbooks about a code. */
function sectionOf(code: string): string {
  return ALL_CHECKS[code]?.runbook ?? code
}

const HEAD = `# Written by "npm run dashboards" from grafana/source/alerts.ts and src/health/checks.ts.
#
# An alert with its own name wakes a person. All that can wait until the morning is one alert, ${DEGRADED}: its label
# \`code\` is the code of the warning in the status, and its section in docs/reference/runbooks.md, which the API serves at
# /docs/runbooks. Where another address is better, set the external label \`runbooks\` in prometheus.yml.
#
# The scrape job is named \`farewatch\`, and its targets have the label \`environment\`. Every alert has both labels, so one
# Prometheus can serve several environments.
`

/** The text of grafana/prometheus/alerts.yml. */
export function alertsFile(): string {
  const groups = [
    { name: 'farewatch.records', rules: RECORDS },
    {
      name: 'farewatch.critical',
      rules: [...SEEN.filter(({ alert }) => alert !== undefined).map(seenRule), ...criticalRules()],
    },
    {
      name: 'farewatch.degraded',
      rules: [degradedRule(), ...SEEN.filter(({ alert }) => alert === undefined).map(seenRule)],
    },
  ]
  return HEAD + stringify({ groups }, { lineWidth: 0, blockQuote: 'literal' })
}
