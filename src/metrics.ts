import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

const LISTS = ['routes', 'with-availability']
const STATUSES = ['applied', 'unchanged', 'held', 'rejected', 'failed']
const CHANGE_KINDS = [
  'route_added',
  'route_removed',
  'route_gained_availability',
  'route_lost_availability',
  'place_changed',
]
const STAGE_BUCKETS_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300]
const REQUEST_BUCKETS_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

export type Metrics = ReturnType<typeof createMetrics>

/**
 * Every metric of farewatch, declared once. Base units, `_total` on counters, timestamps of events instead of
 * ages, bounded label sets that begin at 0; never a route, a flight, a URL, a key or a message as a label.
 */
export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const metrics = {
    registry,
    ...syncMetrics(registers),
    ...upstreamMetrics(registers),
    ...queueMetrics(registers),
    ...verifyMetrics(registers),
  }
  for (const list of LISTS) {
    for (const status of STATUSES) metrics.syncRuns.inc({ list, status }, 0)
  }
  for (const kind of CHANGE_KINDS) metrics.routeChanges.inc({ kind }, 0)
  return metrics
}

function syncMetrics(registers: Registry[]) {
  return {
    syncRuns: new Counter({
      name: 'farewatch_sync_runs_total',
      help: 'Finished runs of a route list, by how they ended.',
      labelNames: ['list', 'status'],
      registers,
    }),
    syncStageDuration: new Histogram({
      name: 'farewatch_sync_stage_duration_seconds',
      help: 'Duration of each stage of a run.',
      labelNames: ['list', 'stage'],
      buckets: STAGE_BUCKETS_S,
      registers,
    }),
    routeChanges: new Counter({
      name: 'farewatch_route_changes_total',
      help: 'Changes applied by runs of this process, by kind.',
      labelNames: ['kind'],
      registers,
    }),
    syncReturned: new Counter({
      name: 'farewatch_sync_returned_total',
      help: 'Routes that were absent from a list and back before the absence was confirmed.',
      labelNames: ['list'],
      registers,
    }),
    syncListFaults: new Counter({
      name: 'farewatch_sync_list_faults_total',
      help: 'Oddities in accepted lists: duplicate routes, contradicting places, pairs that are not among the routes.',
      labelNames: ['list', 'fault'],
      registers,
    }),
    ...syncGauges(registers),
  }
}

/** Read from the database at each scrape: true after a restart, and the same from every process. */
function syncGauges(registers: Registry[]) {
  return {
    syncLastSuccess: new Gauge({
      name: 'farewatch_sync_last_success_timestamp_seconds',
      help: 'When the last accepted list had arrived; 0 before the first.',
      labelNames: ['list'],
      registers,
    }),
    syncLastAttempt: new Gauge({
      name: 'farewatch_sync_last_attempt_timestamp_seconds',
      help: 'When the last run of a list began; 0 before the first.',
      labelNames: ['list'],
      registers,
    }),
    syncHeld: new Gauge({
      name: 'farewatch_sync_held_runs',
      help: 'Runs that are held for review.',
      labelNames: ['list'],
      registers,
    }),
    routesLive: new Gauge({
      name: 'farewatch_routes_live',
      help: 'Live routes.',
      registers,
    }),
    routesAvailable: new Gauge({
      name: 'farewatch_routes_available',
      help: 'Live routes that are listed as available.',
      registers,
    }),
    scheduleDue: new Gauge({
      name: 'farewatch_schedule_next_due_timestamp_seconds',
      help: 'When each schedule is due next; in the past while it is owed.',
      labelNames: ['schedule'],
      registers,
    }),
  }
}

function upstreamMetrics(registers: Registry[]) {
  return {
    upstreamRequests: new Counter({
      name: 'farewatch_upstream_requests_total',
      help: 'Requests to the upstream, by endpoint and outcome.',
      labelNames: ['endpoint', 'outcome'],
      registers,
    }),
    upstreamDuration: new Histogram({
      name: 'farewatch_upstream_request_duration_seconds',
      help: 'Duration of requests to the upstream, body included.',
      labelNames: ['endpoint'],
      buckets: REQUEST_BUCKETS_S,
      registers,
    }),
  }
}

function verifyMetrics(registers: Registry[]) {
  return {
    observations: new Counter({
      name: 'farewatch_observations_total',
      help: 'What the upstream said of a leg; of unknown, why.',
      labelNames: ['outcome', 'reason'],
      registers,
    }),
    checkDuration: new Histogram({
      name: 'farewatch_check_duration_seconds',
      help: 'Duration of a verify call.',
      buckets: REQUEST_BUCKETS_S,
      registers,
    }),
    checksDropped: new Counter({
      name: 'farewatch_checks_dropped_total',
      help: 'Checks that did not count: their slot had passed, or something newer was known.',
      labelNames: ['reason'],
      registers,
    }),
    answerFaults: new Counter({
      name: 'farewatch_answer_faults_total',
      help: 'Oddities of answers that leave the fare what "available" says.',
      labelNames: ['fault'],
      registers,
    }),
    lossesHeld: new Counter({
      name: 'farewatch_losses_held_total',
      help: 'Losses that were not believed because an incident was open.',
      registers,
    }),
    availabilityChanges: new Counter({
      name: 'farewatch_availability_changes_total',
      help: 'Confirmed changes of tracked fares.',
      labelNames: ['kind'],
      registers,
    }),
    ...fareGauges(registers),
  }
}

/** Read from the database at each scrape. */
function fareGauges(registers: Registry[]) {
  return {
    trackedFares: new Gauge({
      name: 'farewatch_tracked_fares',
      help: 'Tracked fares that are checked, by what is believed of the pair.',
      labelNames: ['pair'],
      registers,
    }),
    oldestDue: new Gauge({
      name: 'farewatch_checks_oldest_good_timestamp_seconds',
      help: 'When the fare was last well answered that waits longest for it; 0 without fares.',
      registers,
    }),
    incidentsOpen: new Gauge({
      name: 'farewatch_incidents_open',
      help: 'Open incidents: mass losses, upstream trouble.',
      labelNames: ['kind'],
      registers,
    }),
  }
}

function queueMetrics(registers: Registry[]) {
  return {
    queueJobs: new Counter({
      name: 'farewatch_queue_jobs_total',
      help: 'Jobs that this process ended, by queue and outcome.',
      labelNames: ['queue', 'outcome'],
      registers,
    }),
    queueLastActivity: new Gauge({
      name: 'farewatch_queue_last_activity_timestamp_seconds',
      help: 'When the worker of a queue last polled or ended a job: its liveness.',
      labelNames: ['queue'],
      registers,
    }),
  }
}
