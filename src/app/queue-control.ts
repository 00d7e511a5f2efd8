import type { QueueControl } from '../health/queue-operations.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import type { App } from './app.ts'
import { listAllSchedulers, runNow } from './periodic.ts'
import { changeDeadJobs } from './queue-state.ts'
import { scheduleOf } from './read-work.ts'

/** What the API offers operators of the queues. */
export function queueControl(
  { db, clock }: Pick<App, 'clock'> & Pick<App['database'], 'db'>,
  queue: QueueSystem,
): QueueControl {
  return {
    jobs: queue.jobs,
    changeDead: (change) => changeDeadJobs({ queue, clock }, change),
    schedules: async () => (await listAllSchedulers(queue)).map(scheduleOf),
    run: (name) => runNow(db, queue, name),
  }
}
