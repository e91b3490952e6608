print("segrec")
