import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import document from '../../docs/reference/openapi.json' with { type: 'json' }

const SCHEMA = new URL('../../clients/typescript/src/schema.d.ts', import.meta.url)

/** The names that are declared in a block of the schema, at its first level. */
function namesIn(text: string, begin: string, indent: string): string[] {
  const from = text.indexOf(begin)
  const block = text.slice(from, text.indexOf(`\n${indent.slice(4)}}`, from))
  return [...block.matchAll(new RegExp(`^${indent}(\\w+)\\??:`, 'gm'))].map(([, name = '']) => name)
}

// The long tests compare the whole file, which takes the generator and its own TypeScript.
it('the types of the client name the operations and schemas of the document; "npm run openapi" writes them', () => {
  const text = readFileSync(SCHEMA, 'utf8')
  const operations = Object.values(document.paths)
    .flatMap((path) => Object.values(path) as { operationId: string }[])
    .map(({ operationId }) => operationId)

  expect(new Set(namesIn(text, 'export interface operations {', '    '))).toEqual(
    new Set(operations),
  )
  expect(new Set(namesIn(text, 'schemas: {', '        '))).toEqual(
    new Set(Object.keys(document.components.schemas)),
  )
})
