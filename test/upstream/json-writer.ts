import type { Place, Route } from '../../src/upstream/route-list.ts'

/** Returns a number below `options`. The writer makes all its choices with it. */
export type Choose = (options: number) => number

/** Choices derived from bytes, repeatedly, so that a property test can shrink them. */
export function chooser(bytes: readonly number[]): Choose {
  let at = 0
  return (options) => {
    const byte = bytes[at % bytes.length] ?? 0
    at += 1
    return byte % options
  }
}

/** Writes routes as any JSON writer could: whitespace, key order, escapes, unknown fields, ids as numbers. */
export function writeRoutes(routes: readonly Route[], choose: Choose): string {
  const elements = routes.map((route) =>
    object(
      [
        ['departure', place(route.departure, choose)],
        ['destination', place(route.destination, choose)],
      ],
      choose,
    ),
  )
  const blank = () => [' ', '\n\t', '', '\r'][choose(4)]
  return `${blank()}[${elements.map((text) => `${blank()}${text}${blank()}`).join(',')}]`
}

function place({ id, iata, city, country }: Place, choose: Choose): string {
  const numeric = /^(0|[1-9]\d*)$/.test(id) && choose(2) === 0
  return object(
    [
      ['id', numeric ? id : text(id, choose)],
      ['iata', text(iata, choose)],
      ['city', text(city, choose)],
      ['country', text(country, choose)],
    ],
    choose,
  )
}

type Field = [name: string, json: string]

function object(fields: Field[], choose: Choose): string {
  const unknown: Field[] = [
    ['\\"}],{[', '{"id":[[],"]"]}'],
    ['Id', '-1.5e+3'],
  ]
  const all = [...fields, ...unknown.slice(choose(3))]
  const shuffled = all.map((field) => ({ field, key: choose(256) })).sort((a, b) => a.key - b.key)
  const blank = () => ['', ' ', '\n'][choose(3)]
  const parts = shuffled.map(({ field: [name, json] }) => `${blank()}"${name}"${blank()}:${json}`)
  return `{${parts.join()}${blank()}}`
}

function text(value: string, choose: Choose): string {
  const units = value.split('').map((unit) => {
    if (choose(5) > 0) return JSON.stringify(unit).slice(1, -1)
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
  // JSON.stringify escapes the two halves of a surrogate pair separately. Both spellings are the same text.
  return choose(2) === 0 ? JSON.stringify(value) : `"${units.join('')}"`
}
