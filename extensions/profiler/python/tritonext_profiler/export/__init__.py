"""Writers of other tools' formats, and a reader of Proton's."""
