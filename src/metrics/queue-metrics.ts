import { Counter, Gauge, type Registry } from 'prom-client'

export function queueMetrics(registers: Registry[]) {
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
