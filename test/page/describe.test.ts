import { expect, it } from 'vitest'
import { exampleRecord } from '../../src/feeds/example-records.ts'

const { subjectOf } = (await import(
  new URL('../../src/page/describe.js', import.meta.url).href
)) as {
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
