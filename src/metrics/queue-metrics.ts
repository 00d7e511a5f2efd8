import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

const JOB_BUCKETS_S = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export function queueMetrics(registers: Registry[]) {
  return {
    queueJobs: new Counter({
      name: 'farewatch_queue_jobs_total',
      help: 'Jobs that this process ended, by queue and outcome; a failed one may be tried again, one put off is.',
      labelNames: ['queue', 'outcome'],
      registers,
    }),
    queueWait: new Histogram({
      name: 'farewatch_queue_wait_seconds',
      help: 'How long a job waited, from the moment it was to run to the begin of its first attempt.',
      labelNames: ['queue'],
      buckets: JOB_BUCKETS_S,
      registers,
    }),
    queueJobDuration: new Histogram({
      name: 'farewatch_queue_job_duration_seconds',
      help: 'Duration of an attempt at a job, however it ended.',
      labelNames: ['queue'],
      buckets: JOB_BUCKETS_S,
      registers,
    }),
    queueStalled: new Counter({
      name: 'farewatch_queue_stalled_total',
      help: 'Jobs that this process found without a living worker, to be run again.',
      labelNames: ['queue'],
      registers,
    }),
    queueLastActivity: new Gauge({
      name: 'farewatch_queue_last_activity_timestamp_seconds',
      help: 'When the worker of a queue last polled or ended a job: its liveness.',
      labelNames: ['queue'],
      registers,
    }),
    tickLastSuccess: new Gauge({
      name: 'farewatch_tick_last_success_timestamp_seconds',
      help: 'When a tick last ended well in this process; before that, when its workers started.',
      labelNames: ['tick'],
      registers,
    }),
    tickInterval: new Gauge({
      name: 'farewatch_tick_interval_seconds',
      help: 'How often a tick is to run, in whichever process.',
      labelNames: ['tick'],
      registers,
    }),
  }
}

/** Of the whole system. */
export function queueGauges(registers: Registry[]) {
  return {
    queueDepth: new Gauge({
      name: 'farewatch_queue_depth',
      help: 'Jobs in a queue by state; dead ones ran out of attempts and wait for an operator, thirty days at most. No tick is.',
      labelNames: ['queue', 'state'],
      registers,
    }),
  }
}
