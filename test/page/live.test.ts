import { expect, it } from 'vitest'

it('reads again after an event, and not after a heartbeat, however their texts are cut', async () => {
  const file = new URL('../../src/page/live.js', import.meta.url).href
  const { isNews } = (await import(file)) as { isNews(text: string): boolean }
  const cut = (text: string, size: number) =>
    Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
      text.slice(i * size).slice(0, size),
    )

  for (const size of [1, 7, 100]) {
    expect(cut(':\n\n:\n\n', size).some(isNews)).toBe(false)
    expect(cut(':\n\nid: 7\ndata: {}\n\n', size).some(isNews)).toBe(true)
  }
})
