import { readFile } from 'node:fs/promises'
import { describe, expect } from 'vitest'
import { readPrivateTables, schemaPage } from '../platform/db/schema-page.ts'
import { it } from '../support/test-database.ts'
import { dbtSources, dictionaryPage, readDictionary } from './generate-dictionary.ts'

const read = (name: string) => readFile(new URL(`../../${name}`, import.meta.url), 'utf8')

describe('the dictionary of the public SQL', () => {
  it('the page and the dbt sources are what `npm run db:dictionary` writes for the migrated database', async ({
    db,
  }) => {
    const tables = await readDictionary(db)

    expect(await read('docs/reference/dictionary.md')).toBe(dictionaryPage(tables))
    expect(await read('docs/analytics/dbt/sources.yml')).toBe(dbtSources(tables))
    expect(tables.filter(({ description }) => !description)).toEqual([])
  })

  it('so is the page of the private tables, and each table says what it is for', async ({ db }) => {
    const tables = await readPrivateTables(db)

    expect(await read('docs/reference/schema.md')).toBe(schemaPage(tables))
    expect(tables.filter(({ description }) => !description)).toEqual([])
  })
})
