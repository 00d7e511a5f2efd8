import { onTestFinished } from 'vitest'

/** A block of an event stream. `event` and `data` are undefined if the block only moves the id or the retry time. */
export interface Block {
  readonly id?: string
  readonly event?: string
  readonly retry?: number
  readonly data?: Record<string, unknown>
}

/** An open event stream. */
export interface EventClient {
  readonly response: Response
  /** The next block; undefined at the end of the stream. */
  next(): Promise<Block | undefined>
  /** The next events with data, without blocks that are no events. */
  events(count: number): Promise<Block[]>
  /** All remaining blocks, when the stream has ended. */
  rest(): Promise<Block[]>
  close(): void
}

/** Opens an event stream, which closes after the test. */
export async function openEvents(
  url: string,
  { key, lastEventId }: { readonly key: string; readonly lastEventId?: string },
): Promise<EventClient> {
  const closing = new AbortController()
  const close = () => closing.abort()
  onTestFinished(close)
  const response = await fetch(url, {
    headers: {
      authorization: `Bearer ${key}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
    signal: closing.signal,
  })
  const blocks = readBlocks(response)
  const next = async () => (await blocks.next()).value ?? undefined
  const events = async (count: number) => {
    const found: Block[] = []
    while (found.length < count) {
      const block = await next()
      if (block === undefined) throw new Error(`the stream ended after ${found.length} events`)
      if (block.data !== undefined) found.push(block)
    }
    return found
  }
  const rest = async () => {
    const found: Block[] = []
    for (let block = await next(); block !== undefined; block = await next()) found.push(block)
    return found
  }
  return { response, next, events, rest, close }
}

async function* readBlocks({ body }: Response): AsyncGenerator<Block, void> {
  let text = ''
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      yield blockOf(text.slice(0, end))
      text = text.slice(end + 2)
    }
  }
}

function blockOf(text: string): Block {
  const fields = Object.fromEntries(
    text
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const { id, event, retry, data } = fields
  return {
    ...(id === undefined ? {} : { id }),
    ...(event === undefined ? {} : { event }),
    ...(retry === undefined ? {} : { retry: Number(retry) }),
    ...(data === undefined ? {} : { data: JSON.parse(data) as Record<string, unknown> }),
  }
}
