import { expect, it } from 'vitest'

interface Read {
  readonly events: { name: string; id: string | null; data: unknown }[]
  readonly lastId: string | undefined
  readonly retryMs: number | undefined
}

/** The page's modules have no types for TypeScript: they are checked on their own, with those of browsers. */
async function newParser(): Promise<{ push(chunk: string): Read }> {
  const file = new URL('../../src/page/event-stream.js', import.meta.url).href
  const { createEventParser } = (await import(file)) as {
    createEventParser(): { push(chunk: string): Read }
  }
  return createEventParser()
}

it('reads events however their text is cut, with the last id and the pause', async () => {
  const text =
    'retry: 2500\n\n:\n\nid: 7\nevent: price_changed\ndata: {"seq":7}\n\nid: 8\n\nevent: runs\ndata: {"items":\ndata: []}\n\n'
  for (const size of [1, 7, text.length]) {
    const parser = await newParser()
    const reads = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
      parser.push(text.slice(i * size, (i + 1) * size)),
    )

    expect(reads.flatMap(({ events }) => events)).toEqual([
      { name: 'price_changed', id: '7', data: { seq: 7 } },
      { name: 'runs', id: null, data: { items: [] } },
    ])
    expect(reads.map(({ lastId }) => lastId).findLast((id) => id !== undefined)).toBe('8')
    expect(reads.map(({ retryMs }) => retryMs).find((ms) => ms !== undefined)).toBe(2500)
  }
})
