import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ApiDocument, generateApiTypes } from './api-types.ts'

const PAGE = path.resolve(import.meta.dirname, '../../src/page')

/** `any` as a type in a comment: `{any}`, `: any[]`, `Map<string, any>`. */
const ANY = /(?:[{<(|:,]|=>)\s*(?:readonly )?any\b(?!\s+\w)/

describe('the types of the page', () => {
  it('say any in no module', () => {
    const files = readdirSync(PAGE, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.js'))
      .filter((name) => ANY.test(readFileSync(path.join(PAGE, name), 'utf8')))
    expect(files).toEqual([])
  })

  it('are those of the API’s document; else run: npm run openapi', async () => {
    const document = readFileSync(path.join(PAGE, '../../docs/reference/openapi.json'), 'utf8')
    const types = generateApiTypes(JSON.parse(document) as ApiDocument)
    await expect(types).toMatchFileSnapshot(path.join(PAGE, 'api-types.ts'))
  })
})
