"""Drake (SAP) as plant."""
