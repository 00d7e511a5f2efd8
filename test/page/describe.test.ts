import { expect, it } from 'vitest'
import { exampleRecord } from '../../src/feeds/example-records.ts'

const { changeText, subjectOf, WATCH_KINDS } = (await import(
  new URL('../../src/page/describe.js', import.meta.url).href
)) as {
  changeText(record: object): string
  WATCH_KINDS: readonly string[]
  subjectOf(record: object): { readonly title: string; readonly detail: string }
}

it('a record is named by its flights and passengers, also if its states show no flight', () => {
  const lost = exampleRecord('became_unavailable')
  const ended = { ...lost, before: lost.after }

  expect(subjectOf(lost).title).toBe('PMI → BCN')
  expect(subjectOf(lost).detail).toMatch(/Llevant Airways 1579; 2 adults, 1 child$/)
  expect(subjectOf(ended)).toEqual(subjectOf(lost))
})

it('a record for one adult names no passengers', () => {
  const none = { adults: 0, children: 0, infants: 0 }
  const passengers = { residents: none, nonResidents: { ...none, adults: 1 } }

  const { detail } = subjectOf({ ...exampleRecord('expired'), passengers })

  expect(detail).toMatch(/Llevant Airways 1579$/)
})

it('the first record of a fare shows its state and price, and is no kind that an endpoint can choose', () => {
  const { after } = exampleRecord('watch_started')

  expect(changeText({ kind: 'first_seen', after })).toBe('first seen: bookable, 348.81\u00A0EUR')
  expect(WATCH_KINDS).toContain('watch_started')
  expect(WATCH_KINDS).not.toContain('first_seen')
})
