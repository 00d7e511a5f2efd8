import { cleanText } from '../base/text.ts'
import { cleanPayload, type JsonObject } from './job-payload.ts'
import type { StoreClient } from './store-client.ts'

export interface NewJob {
  readonly payload: JsonObject
  /**
   * While a job with this id waits, runs or is to be retried, another one is dropped. A job that failed for good gives
   * its id up, also when an operator retries it.
   */
  readonly id?: string
  readonly delayMs?: number
  /** How often the job may be tried in all. The default is 5. */
  readonly attempts?: number
}

export interface JobProducer {
  enqueue(queue: string, job: NewJob): Promise<void>
}

export function createJobProducer(client: StoreClient): JobProducer {
  return {
    async enqueue(queue, { payload, id, delayMs, attempts }) {
      const data = cleanPayload(payload)
      const options = {
        ...(id === undefined ? {} : { deduplication: { id: cleanId(id) } }),
        ...(delayMs === undefined ? {} : { delay: Math.max(0, Math.round(delayMs)) }),
        ...(attempts === undefined ? {} : { attempts }),
      }
      await client.call(queue, (target) => target.add(queue, data, options))
    },
  }
}

function cleanId(id: string): string {
  const clean = cleanText(id)
  if (clean === '') throw new TypeError('the id of a job is empty')
  return clean
}
