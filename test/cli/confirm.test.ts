import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { confirmDeletion } from '../../src/cli/confirm.ts'

const WHAT = '2 watches are deleted for good'

function ask(answer: string | undefined, yes = false) {
  const input = Object.assign(new PassThrough(), { isTTY: answer !== undefined })
  const output = new PassThrough()
  if (answer !== undefined) input.write(`${answer}\n`)
  return { asked: confirmDeletion(WHAT, { yes }, { input, output }), output }
}

describe('a command that deletes', () => {
  it('asks on a terminal, and goes on after yes alone', async () => {
    const agreed = ask('yes')
    await expect(agreed.asked).resolves.toBeUndefined()
    await expect(ask('y').asked).rejects.toMatchObject({ message: 'nothing was deleted' })
    expect(String(agreed.output.read())).toContain(`${WHAT}. Type yes to go on: `)
  })

  it('without a terminal it needs --yes, and says so', async () => {
    await expect(ask(undefined).asked).rejects.toMatchObject({
      code: 'cli.usage',
      message: `${WHAT}; to do so without a terminal, add --yes`,
    })
    await expect(ask(undefined, true).asked).resolves.toBeUndefined()
  })
})
