import { expect, it } from 'vitest'
import { exampleRecord } from '../../src/feeds/example-records.ts'
import { questionWith } from '../../src/upstream/question.ts'
import { TEXTS } from '../../src/views/vocabulary-operations.ts'

const { changeText, subjectOf, watchKinds } = (await import(
  new URL('../../src/page/describe.js', import.meta.url).href
)) as {
  changeText(record: object): string
  watchKinds(): readonly string[]
  subjectOf(record: object): { readonly title: string; readonly detail: string }
}

const { vocabulary } = (await import(
  new URL('../../src/page/vocabulary.js', import.meta.url).href
)) as { vocabulary: object }
Object.assign(vocabulary, TEXTS)

it('a record is named by its flights and passengers, also if its states show no flight', () => {
  const lost = exampleRecord('became_unavailable')
  const ended = { ...lost, before: lost.after }

  expect(subjectOf(lost).title).toBe('PMI → BCN')
  expect(subjectOf(lost).detail).toMatch(/Llevant Airways 1579; 2 adults, 1 child$/)
  expect(subjectOf(ended)).toEqual(subjectOf(lost))
})

it('a record for one adult names no passengers', () => {
  const { detail } = subjectOf({ ...exampleRecord('expired'), ...questionWith({ flightId: '1' }) })

  expect(detail).toMatch(/Llevant Airways 1579$/)
})

it('the first record of a fare shows its state and price, and is no kind that an endpoint can choose', () => {
  const { after } = exampleRecord('watch_started')

  expect(changeText({ kind: 'first_seen', before: null, after })).toBe(
    'first seen, can be booked for 348.81 EUR',
  )
  expect(watchKinds()).toContain('watch_started')
  expect(watchKinds()).not.toContain('first_seen')
})

it('an operator’s record of a route, which names no place, has the text of its kind', () => {
  const record = { kind: 'route_lost_availability', runId: 7, recordedAt: '2026-11-30T10:00:00Z' }

  expect(changeText(record)).toBe('route cannot be booked any more')
})
