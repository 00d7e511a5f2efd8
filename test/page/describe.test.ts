import { expect, it } from 'vitest'
import { changeSentence } from '../../src/delivery/formats/change-sentence.ts'
import { exampleRecord } from '../../src/feeds/example-records.ts'
import { WATCH_CHANGE_KINDS } from '../../src/platform/base/change-kinds.ts'
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

/** As the page receives it. */
const jsonOf = (record: object) => JSON.parse(JSON.stringify(record)) as object

it.each(WATCH_CHANGE_KINDS)('the page and messages say the same of %s', (kind) => {
  const record = exampleRecord(kind)
  // Messages leave out the year in which they are read, the page writes days as its reader does. It shows next to a flight who
  // sells it.
  const words = (text: string) =>
    text
      .replaceAll('\u00A0', ' ')
      .replace(/ first seen on [^(]+/, '')
      .replace(/ \(was PMI.*| at Saffron Travel(, [\d.]+ an? (resident )?adult)*/, '')

  const sentence = words(changeSentence(record, 2030))
  expect(`: ${sentence}`).toMatch(
    new RegExp(`: ${RegExp.escape(words(changeText(jsonOf(record))))}$`),
  )
})

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

  expect(changeText({ kind: 'first_seen', after })).toBe(
    'first seen, can be booked for 348.81\u00A0EUR',
  )
  expect(watchKinds()).toContain('watch_started')
  expect(watchKinds()).not.toContain('first_seen')
})
