import { type App, openQueue } from '../app/app.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import { type CliContext, withApp } from './context.ts'

const CLOSE_MS = 2_000

/** Opens what a one-shot command about the queue needs, runs it and closes everything again. */
export function withQueue<T>(
  context: CliContext,
  role: string,
  work: (app: App, queue: QueueSystem) => Promise<T>,
): Promise<T> {
  return withApp(context, { role, sandbox: false }, async (app) => {
    const queue = openQueue(app)
    try {
      return await work(app, queue)
    } finally {
      await queue.close({ graceMs: CLOSE_MS })
    }
  })
}
