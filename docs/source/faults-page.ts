import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const TEST = fileURLToPath(new URL('../../test/', import.meta.url))
/** A comment that names a fault, in one line or several. */
const FAULT = /^ *(?:\/\/|#) Fault: (.+(?:\n *(?:\/\/|#) (?!Fault: ).+)*)/gm
/** The name of a test, of Vitest or of promtool. It has several words. */
const TITLE = /(?:[([]|^ *)(['"`])((?:(?!\1).)* (?:(?!\1).)*)\1,|name: (.+)/m

/** The faults that tests name above them, by the folders of the tests. */
export function testedFaultsPart(): string {
  const files = globSync(['**/*.ts', '../grafana/prometheus/*.test.yml'], {
    cwd: TEST,
    exclude: ['**/node_modules'],
  })
  const byFolder = Map.groupBy(files.toSorted().flatMap(faultsOf), ({ folder }) => folder)
  const tables = [...byFolder].map(([folder, faults]) => {
    const byFault = Map.groupBy(faults, ({ fault }) => fault)
    const rows = [...byFault].map(
      ([fault, shown]) => `| ${fault} | ${shown.map(({ test }) => test).join('<br>')} |`,
    )
    return `## ${folder}\n\n| fault | test |\n|---|---|\n${rows.join('\n')}\n`
  })
  return tables.join('\n')
}

function faultsOf(file: string) {
  const text = readFileSync(TEST + file, 'utf8')
  return [...text.matchAll(FAULT)].map(({ index, 0: comment, 1: fault = '' }) => {
    const [, , title, rule] = TITLE.exec(text.slice(index + comment.length)) ?? []
    const name = title ?? rule
    if (name === undefined) throw new Error(`no test follows the fault in ${file}: ${fault}`)
    const [folder = ''] = file.replace('../', '').split('/')
    return {
      folder,
      fault: fault.replaceAll(/\n *(?:\/\/|#) /g, ' '),
      test: `\`${file}\` "${name}"`,
    }
  })
}
