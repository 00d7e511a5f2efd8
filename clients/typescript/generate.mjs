// Writes src/schema.ts from the API's document.
import { readFile, writeFile } from 'node:fs/promises'
import openapiTypes, { astToString } from 'openapi-typescript'

const DOCUMENT = new URL('../../docs/reference/openapi.json', import.meta.url)
const document = JSON.parse(await readFile(DOCUMENT, 'utf8'))
// A union by kind has a choice for kinds to come, whose kind is any text: TypeScript could not tell the others from it.
for (const schema of Object.values(document.components.schemas)) {
  if (schema.discriminator === undefined) continue
  schema.anyOf = schema.anyOf.filter(({ $ref }) => !$ref.includes('/Other'))
}
const types = await openapiTypes(document, { rootTypes: true, rootTypesNoSchemaPrefix: true })
await writeFile(new URL('src/schema.ts', import.meta.url), astToString(types))
