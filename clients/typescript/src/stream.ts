import { setTimeout as delay } from 'node:timers/promises'
import { authorization, FarewatchError, type FarewatchOptions } from './client.ts'
import type { Problem, WatchChange, WatchChangeKind } from './schema.ts'

export interface StreamOptions extends FarewatchOptions {
  /** The number of the last record that you have applied: `seq` of a record or of the state of your watches. */
  readonly after: number
  readonly kinds?: readonly WatchChangeKind[] | undefined
  /** Ends the stream without an error. */
  readonly signal?: AbortSignal | undefined
}

/** The server sends a heartbeat every 15 seconds. */
const SILENCE_MS = 45_000
const RETRY_MS = { first: 1_000, longest: 30_000 }

/**
 * The database was restored from a backup that ends before your number: the records that you have after `continueAfter` do
 * not exist any more. Read the state of your watches and follow after its `seq`, or follow after `continueAfter`.
 */
export class FeedRestoredError extends FarewatchError {
  override readonly name = 'FeedRestoredError'
  readonly continueAfter: number

  constructor(problem: Problem) {
    super(problem)
    this.continueAfter = problem.continueAfter ?? 0
  }
}

/**
 * Yields the records of your feed after a number, in order, and then each new one. It connects again after every
 * interruption, and continues after the last record that it yielded. Throws FarewatchError if the server refuses the
 * request or ends the stream, and FeedRestoredError if it is because of a restore.
 */
export async function* followWatchChanges(options: StreamOptions): AsyncGenerator<WatchChange> {
  const { signal } = options
  let { after } = options
  let retryMs = RETRY_MS.first
  let failures = 0
  while (signal?.aborted !== true) {
    try {
      for await (const event of readEvents({ ...options, after })) {
        failures = 0
        retryMs = event.retryMs ?? retryMs
        if (event.id === undefined) assertNoTrouble(event)
        else {
          if (event.data !== undefined) yield JSON.parse(event.data) as WatchChange
          after = Number(event.id)
        }
      }
    } catch (err) {
      if (isFinal(err)) throw err
      failures += 1
    }
    const waitMs = Math.min(RETRY_MS.longest, retryMs * 2 ** failures)
    await delay(waitMs, undefined, { signal }).catch(() => undefined)
  }
}

/** An event about no record says why the stream ends. */
function assertNoTrouble({ name, data = '{}' }: StreamEvent): void {
  if (name === 'problem') throw errorOf(JSON.parse(data) as Problem)
}

/** What the next request would meet too, such as a revoked key. */
function isFinal(err: unknown): boolean {
  if (err instanceof SyntaxError) return true
  if (!(err instanceof FarewatchError)) return false
  const { status } = err.problem
  return status < 500 && status !== 429
}

interface StreamEvent {
  /** The number of a record. Without data it only says that all records up to it were read. */
  readonly id: string | undefined
  readonly name: string | undefined
  readonly data: string | undefined
  readonly retryMs: number | undefined
}

/** The events of one connection. Ends with it; throws if it breaks or is silent for too long. */
async function* readEvents(options: StreamOptions): AsyncGenerator<StreamEvent> {
  const { baseUrl, key, after, kinds, signal } = options
  const silent = new AbortController()
  const timer = setTimeout(() => silent.abort(), SILENCE_MS)
  const url = new URL('/api/v1/watch-changes/stream', baseUrl)
  url.searchParams.set('after', String(after))
  if (kinds !== undefined) url.searchParams.set('kinds', kinds.join(','))
  try {
    const response = await fetch(url, {
      headers: { ...authorization(key), accept: 'text/event-stream' },
      signal: signal === undefined ? silent.signal : AbortSignal.any([signal, silent.signal]),
    })
    if (!response.ok) throw await refusalOf(response)
    if (response.body === null) return
    let text = ''
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      timer.refresh()
      const blocks = (text + chunk).split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) yield eventOf(block)
    }
  } finally {
    clearTimeout(timer)
  }
}

/** A proxy may answer with a page of its own. */
async function refusalOf(response: Response): Promise<Error> {
  const isProblem = response.headers.get('content-type')?.includes('problem+json') === true
  if (!isProblem) return new Error(`the stream was answered with ${response.status}`)
  return errorOf((await response.json()) as Problem)
}

function errorOf(problem: Problem): FarewatchError {
  const isRestored = problem.code === 'changes.restored'
  return isRestored ? new FeedRestoredError(problem) : new FarewatchError(problem)
}

/** One block of lines `field: value`. A line that begins with a colon is a heartbeat. */
function eventOf(block: string): StreamEvent {
  const fields = new Map(
    block.split('\n').map((line) => {
      const [, field = '', value = ''] = /^([^:]+): ?(.*)$/.exec(line) ?? []
      return [field, value]
    }),
  )
  const retry = fields.get('retry')
  return {
    id: fields.get('id'),
    name: fields.get('event'),
    data: fields.get('data'),
    retryMs: retry === undefined ? undefined : Number(retry),
  }
}
