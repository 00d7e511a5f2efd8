import { readdirSync, readFileSync } from 'node:fs'

const FOLDER = new URL('../analytics/questions/', import.meta.url)

export interface WorkedQuestion {
  /** The name of its file without the suffix, and of its chart. */
  readonly name: string
  readonly title: string
  /** What the columns say. */
  readonly about: string
  readonly statement: string
}

/** The files of docs/analytics/questions: a comment with the title and the explanation, then one statement. */
export function workedQuestions(): WorkedQuestion[] {
  return readdirSync(FOLDER)
    .sort()
    .map((file) => {
      const lines = readFileSync(new URL(file, FOLDER), 'utf8').trimEnd().split('\n')
      const first = lines.findIndex((line) => !line.startsWith('--'))
      const comment = lines.slice(0, first).map((line) => line.replace(/^-- ?/, ''))
      return {
        name: file.replace(/\.sql$/, ''),
        title: comment[0] ?? '',
        about: comment.slice(1).join('\n').trim(),
        statement: lines.slice(first).join('\n'),
      }
    })
}

/** The generated part of docs/reference/worked-questions.md: the first sentence of each comment, which the file has whole. */
export function workedQuestionsPart(): string {
  return workedQuestions()
    .map(({ name, title, about }) =>
      [
        `## ${title}`,
        `${about.split(/(?<=\.)\s/, 1)[0]} SQL: [${name}.sql](../analytics/questions/${name}.sql)`,
        `![${title}](../plots/${name}.svg)`,
      ].join('\n\n'),
    )
    .join('\n\n')
}
