import { expect, it } from 'vitest'

/** The page's modules have no types for TypeScript: they are checked on their own, with those of browsers. */
async function load<T>(name: string): Promise<T> {
  return (await import(new URL(`../../src/page/${name}`, import.meta.url).href)) as T
}

const { localText, axisText } = await load<{
  localText(local: string): string
  axisText(ms: number, apartMs: number): string
}>('times.js')
const { runsOf } = await load<{ runsOf(values: (number | null)[]): object[][] }>('chart.js')

it('the clock has 24 hours, for instants and for the local times of flights', () => {
  expect(axisText(new Date(2027, 0, 2, 0, 5).getTime(), 60_000)).toBe('00:05')
  expect(axisText(new Date(2027, 0, 2, 17, 5).getTime(), 60_000)).toBe('17:05')
  expect(localText('2027-01-05 20:40')).toContain('20:40')
})

it('a line of a chart is interrupted where a value is missing', () => {
  expect(runsOf([null, 1, 2, null, 0, null])).toEqual([
    [
      { step: 1, value: 1 },
      { step: 2, value: 2 },
    ],
    [{ step: 4, value: 0 }],
  ])
})
