import { readdirSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import packageJson from '../../package.json' with { type: 'json' }

const ROOT = path.join(import.meta.dirname, '../..')
const FOLDER = path.join(ROOT, '.github/workflows')
const FILES = readdirSync(FOLDER)

// The package imports its schema as JSON without the attribute that Node.js requires.
const hooks = registerHooks({
  load: (url, context, next) =>
    url.endsWith('.min.json')
      ? {
          format: 'module',
          source: `export default ${readFileSync(new URL(url), 'utf8')}`,
          shortCircuit: true,
        }
      : next(url, context),
})
const { NoOperationTraceWriter, parseWorkflow } = await import('@actions/workflow-parser')
hooks.deregister()

function errorsOf(name: string, content: string): string[] {
  const { context } = parseWorkflow({ name, content }, new NoOperationTraceWriter())
  return context.errors.getErrors().map(({ message }) => message)
}

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>
}

describe.for(FILES)('the workflow %s', (name) => {
  const content = readFileSync(path.join(FOLDER, name), 'utf8')

  it('is valid by the schema of workflows', () => {
    expect(errorsOf(name, content)).toEqual([])
    expect(errorsOf(name, content.replaceAll('uses:', 'usses:'))).not.toEqual([])
  })

  it('has no logic of its own: its steps run a script of the repository, or one command of git or gh', () => {
    const { jobs } = parse(content) as Workflow
    const commands = Object.values(jobs).flatMap(({ steps }) =>
      steps.flatMap(({ run }) => run ?? []),
    )

    for (const command of commands) {
      expect(command).toMatch(/^(\.ci\/\S+|npm run -s \S+|git config .+|gh release create .+)$/)
      const script = /^npm run -s (\S+)$/.exec(command)?.[1]
      if (script !== undefined) expect(packageJson.scripts).toHaveProperty(script)
      if (command.startsWith('.ci/'))
        expect(readdirSync(path.join(ROOT, '.ci'))).toContain(command.slice(4))
    }
  })
})
