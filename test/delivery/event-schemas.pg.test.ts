import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Value } from 'typebox/value'
import { describe, expect } from 'vitest'
import { eventFiles } from '../../docs/source/event-pages.ts'
import { WEBHOOK_EVENTS } from '../../src/delivery/operations/event-shapes.ts'
import { it } from '../support/test-database.ts'

const FOLDER = fileURLToPath(new URL('../../docs/events/v1/', import.meta.url))

describe('the schemas of bodies', () => {
  const shown = Object.entries(WEBHOOK_EVENTS).filter(([, { example }]) => example !== undefined)

  it.for(shown)('the example of %s is valid', ([, event]) => {
    const sent: unknown = JSON.parse(JSON.stringify(event.example))

    expect(Value.Errors(event.schema, sent)).toEqual([])
    expect(Value.Check(event.schema, { ...(sent as object), data: {} })).toBe(false)
  })

  it('docs/events has a file for each body, and no other', () => {
    expect(new Set(readdirSync(FOLDER))).toEqual(new Set(eventFiles().map(({ name }) => name)))
  })
})
