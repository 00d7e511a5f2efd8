import { onTestFinished } from 'vitest'
import type { Db } from '../../src/platform/db/database.ts'
import { createListener } from '../../src/platform/db/listener.ts'
import { type ApiArgs, openApi } from '../support/api-server.ts'
import { silentLog } from '../support/silent-log.ts'
import { appendRecords } from './append-records.ts'
import { type EventClient, openEvents } from './event-client.ts'
import { fareOf, listWith, newCaller, type ResellerCalls, watch } from './reseller-calls.ts'

export interface StreamWorld {
  readonly base: string
  readonly ana: ResellerCalls
  readonly close: () => Promise<void>
  /** Appends records to the feed of a reseller, by default Ana's, in one transaction. */
  append(
    count: number,
    args?: { readonly padding?: number; readonly resellerId?: number },
  ): Promise<void>
  open(
    path?: string,
    args?: { readonly key?: string; readonly lastEventId?: string },
  ): Promise<EventClient>
}

/** An API with a listener, and a reseller Ana with the watches A-1 and B-1. */
export async function startStreamWorld(
  db: Db,
  url: string,
  args: Partial<ApiArgs> = {},
): Promise<StreamWorld> {
  const listener = createListener({ url, log: silentLog })
  onTestFinished(() => listener.close())
  const { base, close } = await openApi(db, {
    listener,
    ...args,
    streams: { lasting: true, ...args.streams },
  })
  onTestFinished(close)
  const ana = await newCaller(db, base, 'ana')
  await listWith(ana, 'summer', [watch('A-1'), watch('B-1', { flightId: '102' })])
  const fares = [await fareOf(db, '101'), await fareOf(db, '102')]
  return {
    base,
    ana,
    close,
    append: (count, { padding = 0, resellerId = ana.resellerId } = {}) =>
      appendRecords(db, { resellerId, fares, count, padding }),
    open: (path = '', { key = ana.key, ...given } = {}) =>
      openEvents(`${base}/api/v1/watch-changes/stream${path}`, { key, ...given }),
  }
}

/** The numbers of the records of events. */
export function seqsOf(blocks: readonly { readonly id?: string }[]): number[] {
  return blocks.map(({ id }) => Number(id))
}

export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1)
}
