/** How most programs of the documents are told who asks; it stands for a sign-in. */
export const signedInAs = (scope: string) => ({ 'x-signed-in-as': scope })
