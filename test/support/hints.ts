import { onTestFinished } from 'vitest'
import { createListener, type Topic } from '../../src/platform/db/listener.ts'
import { silentLog } from './silent-log.ts'
import { until } from './until.ts'

/** Listens to a topic. Returns how many hints came since. */
export async function countHints(url: string, topic: Topic): Promise<() => number> {
  const listener = createListener({ url, log: silentLog })
  onTestFinished(() => listener.close())
  // It is called once for the connection.
  let hints = -1
  listener.subscribe(topic, () => {
    hints += 1
  })
  await until('the connection', () => hints === 0)
  return () => hints
}
