/** Writes the generated parts of docs/reference; `npm run docs` runs it. */
import { writeFileSync } from 'node:fs'
import { referencePages } from './reference-pages.ts'

for (const { path, generated } of referencePages()) writeFileSync(path, generated)
