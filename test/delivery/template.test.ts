import { describe, expect, it } from 'vitest'
import type { Message, PostResult, Target, Template } from '../../src/delivery/formats/format.ts'
import { createTemplateFormat, templateFault } from '../../src/delivery/formats/template.ts'
import { SOLD_OUT, soldOut, TARGET } from './message-fixtures.ts'

/** The body of a message with this template. */
async function bodyOf(template: Template, message: Message = soldOut({ seq: 41 })) {
  const bodies: string[] = []
  const transport = {
    close: async () => undefined,
    post: async (_: Target, { body }: { body: string }): Promise<PostResult> => {
      bodies.push(body)
      return { kind: 'delivered', status: 200, answer: '' }
    },
  }
  const format = createTemplateFormat({ transport })
  await format.send({ ...TARGET, template }, [message], new AbortController().signal)
  return JSON.parse(bodies[0] ?? '')
}

describe('a body of a form of its reseller', () => {
  it('has the fields of the record where the template names them', async () => {
    const template = {
      note: 'farewatch: {sentence}',
      number: '{seq}',
      price: ['{amount}', { in: '{currency}' }],
      list: '{list}/{reference}',
      back: '{returnFlightId}',
      backText: 'back: {returnFlightId}',
      urgent: true,
      level: 3,
    }

    expect(await bodyOf(template)).toEqual({
      note: `farewatch: ${SOLD_OUT}`,
      number: 41,
      price: [null, { in: null }],
      list: 'summer/A-1',
      back: null,
      backText: 'back: ',
      urgent: true,
      level: 3,
    })
  })

  it('puts a hostile name into a text, and nothing of it into the form', async () => {
    const reference = '"}, {"a": "{seq}'

    const body = await bodyOf({ of: '[{reference}]' }, soldOut({ reference }))

    expect(body).toEqual({ of: `[${reference}]` })
  })
})

describe('a template', () => {
  it('may name the fields that there are', () => {
    expect(templateFault({ a: ['{sentence} {seq}'], b: '{}', c: '{ not }' })).toBeUndefined()
  })

  it('is refused with another field, whose name is said', () => {
    expect(templateFault({ a: [{ '{kind}': '{price}' }] })).toMatch(
      /^has no field \{price\}: the fields are sentence, id, /,
    )
  })
})
