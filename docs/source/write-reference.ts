/** Writes the generated parts of docs/reference again: `npm run docs`. */
import { writeFileSync } from 'node:fs'
import { referencePages } from './reference-pages.ts'

for (const { path, generated } of referencePages()) writeFileSync(path, generated)
