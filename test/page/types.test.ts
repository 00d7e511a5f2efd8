import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const PAGE = path.resolve(import.meta.dirname, '../../src/page')

/** `any` as a type in a comment: `{any}`, `: any[]`, `Map<string, any>`. */
const ANY = /(?:[{<(|:,]|=>)\s*(?:readonly )?any\b(?!\s+\w)/

/** The modules that take answers of the API without their types. None is added. */
const UNTYPED: readonly string[] = [
  'describe.js',
  'event-stream.js',
  'recent-changes.js',
  'session.js',
  'views/changes.js',
  'views/deliveries.js',
  'views/delivery-log.js',
  'views/endpoint-form.js',
  'views/endpoint.js',
  'views/fare.js',
  'views/import-panel.js',
  'views/now.js',
  'views/runs.js',
  'views/schedule.js',
  'views/watch-form.js',
  'views/watches.js',
  'vocabulary.js',
  'warnings.js',
]

describe('the types of the page', () => {
  it('say any in no other module', () => {
    const files = readdirSync(PAGE, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.js'))
      .filter((name) => ANY.test(readFileSync(path.join(PAGE, name), 'utf8')))
    expect(files.filter((name) => !UNTYPED.includes(name))).toEqual([])
  })
})
