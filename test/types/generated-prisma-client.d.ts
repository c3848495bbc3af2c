/** What tests use of the client that `prisma generate` writes for the tables of docs/forms-and-drafts.md. */
declare module 'generated-prisma-client' {
  import type { PrismaPg } from '@prisma/adapter-pg'

  export class PrismaClient {
    constructor(options: { readonly adapter: PrismaPg })
    readonly note: {
      create(input: {
        readonly data: {
          readonly owner: string
          readonly body: string
          readonly files: { readonly create: readonly { readonly objectId: string }[] }
        }
      }): Promise<{ id: string }>
    }
    readonly noteFile: {
      findMany(input: {
        readonly where: { readonly objectId: { readonly in: readonly string[] } }
      }): Promise<{ objectId: string }[]>
    }
  }
}
